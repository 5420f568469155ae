// tests/interop holds these files, loaded by transformers, against this program's own logits for
// every position method.
#include "convert/custom_code.h"

#include "base/strings.h"

namespace alibi {

const char kConfigurationPy[] =
    R"py("""A decoder of alibi's; `model` holds alibi's own keys for it (alibi inspect schema explains each)."""
from transformers import PretrainedConfig


class AlibiConfig(PretrainedConfig):
    model_type = "alibi"
    keys_to_ignore_at_inference = ["past_key_values"]

    def __init__(self, model=None, slopes=(), vocab_size=1, max_position_embeddings=2048, use_cache=True, **others):
        self.model = model or {"layers": 1, "width": 8, "heads": 1, "position": "none"}
        self.slopes = list(slopes)  # one a head, where they are not trained
        self.vocab_size = vocab_size
        self.hidden_size = self.model["width"]
        self.num_hidden_layers = self.model["layers"]
        self.num_attention_heads = self.model["heads"]
        self.max_position_embeddings = max_position_embeddings
        self.use_cache = use_cache
        super().__init__(**others)
)py";

namespace {

constexpr const char* kModelingStart =
    R"py("""A pre-norm decoder of alibi's; `Positions` is its position encoding.

x = embed(tokens) [+ positions];  x += out(attention(qkv(norm_1(x))));  x += down(gelu(up(norm_2(x))))
"""
import math

import torch
from torch import nn
from torch.nn import functional
from transformers import DynamicCache, GenerationMixin, PreTrainedModel, __version__
from transformers.modeling_outputs import CausalLMOutputWithPast

from .configuration_alibi import AlibiConfig

VERSION = int(__version__.split(".")[0])


class NoPositions:
    """What a method does where it does nothing."""

    def make_positions(self, m):
        pass

    def embed_positions(self, x, positions):
        return x

    @staticmethod
    def turn(m, x, positions):
        return x

    @staticmethod
    def infuse(m, positions):
        """What queries and keys are made from beside x: (B, T, width)."""
        return None

    def score_biases(self, distance):
        """For each layer what is added to its scores: (1 or H, queries, keys), fp32."""
        return [torch.zeros_like(distance, dtype=torch.float32)] * self.config.model["layers"]

)py";

constexpr const char* kModelingRest =
    R"py(

def norm_of(m):
    return nn.LayerNorm(m["width"], eps=m["norm_epsilon"], bias=m["norm_bias"])


class SoftmaxScale(nn.Module):
    """Scalable softmax (Nakanishi 2025): q.k times weight times the log of how many keys a query sees."""

    def __init__(self, heads):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(heads))


class Block(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        m = self.settings = config.model
        self.layer = layer
        width, kv_width = m["width"], m["key_value_heads"] * (m["width"] // m["heads"])
        self.norm_1 = norm_of(m)
        self.qkv = nn.Linear(width, width + 2 * kv_width, bias=m["attention_bias"])  # rows: queries, keys, values
        self.out = nn.Linear(width, width, bias=m["attention_bias"])
        self.norm_2 = norm_of(m)
        self.up = nn.Linear(width, m["mlp_width"], bias=m["mlp_bias"])
        self.down = nn.Linear(m["mlp_width"], width, bias=m["mlp_bias"])

    def forward(self, x, bias, positions, cache, scale):
        x = x + self.out(self.attention(self.norm_1(x), bias, positions, cache, scale))
        approximate = "tanh" if self.settings["activation"] == "gelu_tanh" else "none"
        return x + self.down(functional.gelu(self.up(self.norm_2(x)), approximate=approximate))

    def attention(self, x, bias, positions, cache, scale):
        m, shape = self.settings, x.shape[:2]
        depth = m["width"] // m["heads"]
        kv_width = m["key_value_heads"] * depth
        parts = self.qkv(x).split([m["width"], kv_width, kv_width], -1)
        infused = Positions.infuse(m, positions)
        if infused is not None:
            more = functional.linear(infused.to(x.dtype), self.qkv.weight[:-kv_width]).split([m["width"], kv_width], -1)
            parts = [parts[0] + more[0], parts[1] + more[1], parts[2]]
        q, k, v = (part.view(*shape, -1, depth).transpose(1, 2) for part in parts)
        q, k = Positions.turn(m, q, positions), Positions.turn(m, k, positions)
        if scale is not None:
            q = (q.float() * scale.weight.float().view(-1, 1, 1) * (positions + 1).log()[:, None, :, None]).to(q.dtype)
        if cache is not None:
            k, v = cache.update(k, v, self.layer)
        each = m["heads"] // m["key_value_heads"]  # query heads that share keys and values
        k, v = k.repeat_interleave(each, 1), v.repeat_interleave(each, 1)
        scores = q.float() @ k.float().transpose(2, 3) * m["attention_scale"] + bias
        return (scores.softmax(-1).to(v.dtype) @ v).transpose(1, 2).reshape(*shape, m["width"])


class AlibiForCausalLM(Positions, PreTrainedModel, GenerationMixin):
    config_class = AlibiConfig
    base_model_prefix = ""
    _no_split_modules = ["Block"]
    _tied_weights_keys = {"head.weight": "embedding.weight"} if VERSION >= 5 else ["head.weight"]
    accepts_loss_kwargs = False  # the loss is a mean: a Trainer that accumulates gradients divides it

    def __init__(self, config):
        super().__init__(config)
        m = config.model
        self.embedding = nn.Embedding(config.vocab_size, m["width"])
        self.make_positions(m)
        scaled = m["layers"] if m.get("scalable_softmax") else 0
        self.softmax_scale = nn.ModuleList(SoftmaxScale(m["heads"]) for _ in range(scaled))
        if m["embedding_norm"]:
            self.embedding_norm = norm_of(m)
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(m["layers"]))
        self.norm = norm_of(m)
        self.head = nn.Linear(m["width"], config.vocab_size, bias=False)
        self.post_init()

    def get_input_embeddings(self):
        return self.embedding

    def set_input_embeddings(self, embedding):
        self.embedding = embedding

    def get_output_embeddings(self):
        return self.head

    def set_output_embeddings(self, head):
        self.head = head

    def embed(self, tokens, positions):
        m = self.config.model
        x = self.embed_positions(self.embedding(tokens), positions)
        return self.embedding_norm(x) if m["embedding_norm"] else x

    def biases(self, seen, queries, keys):
        """For each layer what is added to its scores: (B, 1 or H, queries, keys), fp32, -inf where a query must not look."""
        distance = torch.arange(keys - queries, keys, device=seen.device).unsqueeze(1) - torch.arange(keys, device=seen.device)
        hidden = (distance < 0) | ~seen.bool().unsqueeze(1).unsqueeze(1)
        # A query that sees nothing, padding on the left, looks at itself: its output is nobody's, but must be a number.
        hidden = hidden & (distance != 0)
        bias = torch.zeros_like(hidden, dtype=torch.float32).masked_fill(hidden, -math.inf)
        return [bias + own for own in self.score_biases(distance)]

    def forward(self, input_ids=None, attention_mask=None, past_key_values=None, labels=None, use_cache=None, logits_to_keep=0,
                return_dict=None, inputs_embeds=None, output_hidden_states=None, output_attentions=None, **others):
        if inputs_embeds is not None or others.get("position_ids") is not None or output_hidden_states or output_attentions:
            raise NotImplementedError("this model takes input_ids only, and gives neither hidden states nor attentions")
        if use_cache is None:
            use_cache = self.config.use_cache and not self.training
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache()
        queries = input_ids.size(1)
        keys = queries + (past_key_values.get_seq_length() if past_key_values is not None else 0)
        seen = attention_mask if attention_mask is not None else input_ids.new_ones(input_ids.size(0), keys)
        positions = (seen.long().cumsum(-1) - 1).clamp_min(0)[:, -queries:]
        x = self.embed(input_ids, positions)
        scales = self.softmax_scale or [None] * len(self.blocks)
        for block, bias, scale in zip(self.blocks, self.biases(seen, queries, keys), scales):
            x = block(x, bias, positions, past_key_values, scale)
        x = self.norm(x)
        logits = self.head(x[:, -logits_to_keep:] if isinstance(logits_to_keep, int) else x[:, logits_to_keep])
        loss = None
        if labels is not None:
            loss = functional.cross_entropy(logits[:, :-1].flatten(0, 1).float(), labels[:, 1:].flatten())
        output = CausalLMOutputWithPast(loss=loss, logits=logits, past_key_values=past_key_values if use_cache else None)
        return output.to_tuple() if return_dict is False else output
)py";

}  // namespace

std::string modeling_py(const ModelConfig& model) {
  std::string positions = position_method(model.position).python;
  if (positions.empty())
    positions = "\nclass Positions(NoPositions):\n    \"\"\"No positions.\"\"\"\n";
  return cat(kModelingStart, positions, kModelingRest);
}

}  // namespace alibi
